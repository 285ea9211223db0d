import { flag } from './flags.ts'

/** The token flags of an RPC server that other machines reach; `rpcAccess` reads them. */
export function tokenFlags(group: string) {
  return {
    rpcTokenFile: flag.optional(
      group,
      'rpc.token-file',
      'File with the bearer token for methods that change something; created if missing. Without the flag, only a server on loopback serves these methods',
      { placeholder: '<file>' },
    ),
    rpcTokenRead: flag.boolean(
      group,
      'rpc.token-read',
      'Require the token of --rpc.token-file also for methods that only read',
    ),
  }
}
