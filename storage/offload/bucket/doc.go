// Package bucket opens buckets by their URL: s3://, gs://, azblob://, file:// for a folder, and mem:// for tests.
//
// What belongs here: the providers' drivers and what has to be added to one for offload.Bucket's promises to hold. What
// does not: the format of objects (package offload). The drivers are large and take milliseconds at every start, so only
// the daemon imports this package.
//
// A process that is killed while it uploads to S3 leaves parts that no listing shows and that cost money: a rule of the
// bucket's lifecycle for incomplete uploads removes them.
package bucket
