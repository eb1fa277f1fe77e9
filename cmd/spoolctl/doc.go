// Command spoolctl inspects and maintains spools, and administers running
// brokers. This package turns flags into options and results into output; the
// work is done in inspect, storage, live and tui.
//
// One file holds one noun or one verb. A verb is an options struct with a run
// method free of cobra, and a constructor that only parses flags:
//
//	type tenantsGet struct {
//		f    *factory
//		name string
//	}
//
//	func newTenantsGet(f *factory) *cobra.Command {
//		o := &tenantsGet{f: f}
//		return &cobra.Command{
//			Use:  "get TENANT",
//			Args: exactArgs(1),
//			RunE: func(cmd *cobra.Command, args []string) error {
//				o.name = args[0]
//				return o.run(cmd.Context())
//			},
//		}
//	}
//
// Collaborators come from the factory, which makes them on first use, so that
// help and version touch nothing. A verb prints through factory.print or
// printList, changes a broker through factory.change, and returns errors; exit
// codes stand in one table in exit.go.
package main
