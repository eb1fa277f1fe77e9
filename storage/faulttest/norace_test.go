//go:build !race

package faulttest_test

const raceBuild = false
