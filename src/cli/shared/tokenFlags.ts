import { flag } from './flags.ts'

/** The token flags of an RPC server that other machines reach; `rpcAccess` reads them. */
export function tokenFlags(group: string) {
  return {
    rpcTokenFile: flag.optional(
      group,
      'rpc.token-file',
      'File with the bearer token that methods which change something need; made when missing. Without it only a server on loopback serves them',
      { placeholder: '<file>' },
    ),
    rpcTokenRead: flag.boolean(group, 'rpc.token-read', 'Ask for the token of --rpc.token-file for reading, too'),
  }
}
