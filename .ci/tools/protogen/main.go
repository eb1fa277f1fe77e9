// Command protogen compiles one .proto file to Go without protoc.
//
//	protogen IMPORT_PATH SOURCE OUTPUT
//
// IMPORT_PATH is the name under which the file registers itself at run time,
// SOURCE the file to read and OUTPUT the Go file to write. Compiler and Go
// generator are pinned in the go.mod of this module.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	gengo "google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: protogen IMPORT_PATH SOURCE OUTPUT")
	}
	importPath, source, output := args[0], args[1], args[2]

	compiler := protocompile.Compiler{
		SourceInfoMode: protocompile.SourceInfoStandard,
		Resolver: &protocompile.SourceResolver{
			Accessor: func(path string) (io.ReadCloser, error) {
				if path != importPath {
					return nil, os.ErrNotExist
				}
				return os.Open(source)
			},
		},
	}
	files, err := compiler.Compile(context.Background(), importPath)
	if err != nil {
		return err
	}

	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{importPath},
		Parameter:      proto.String("paths=source_relative"),
		ProtoFile:      []*descriptorpb.FileDescriptorProto{protoutil.ProtoFromFileDescriptor(files[0])},
	})
	if err != nil {
		return err
	}
	for _, f := range plugin.Files {
		gengo.GenerateFile(plugin, f)
	}
	answer := plugin.Response()
	if answer.Error != nil {
		return errors.New(answer.GetError())
	}
	if len(answer.File) != 1 {
		return fmt.Errorf("generator wrote %d files, want 1", len(answer.File))
	}
	return os.WriteFile(output, []byte(answer.File[0].GetContent()), 0o644)
}
