import { flag } from './flags.ts'

/** The token flags of an RPC server that other machines reach; `rpcAccess` reads them. */
export const tokenFlags = {
  'rpc.token-file': flag.optional(
    '<file>',
    'File with the bearer token for methods that change something; created if missing. Without the flag, only a server on loopback serves these methods',
  ),
  'rpc.token-read': flag.boolean('Require the token of --rpc.token-file also for methods that only read'),
}
