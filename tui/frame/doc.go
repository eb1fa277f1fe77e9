// Package frame makes what top shows: a Monitor keeps the scrapes of some brokers and sums them up in Frames, which the
// batch mode prints and the pages draw.
package frame
