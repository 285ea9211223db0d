import { loadToken, type TokenAccess } from '../../jsonRpc/bearerToken.ts'
import { isLoopback } from '../../jsonRpc/hostCheck.ts'
import { UsageError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'

/**
 * The access rules of a server that is bound to `rpcAddr`. Undefined if only this machine reaches it and no token is configured.
 * Throws UsageError.
 */
export function rpcAccess(
  values: { rpcAddr: string; rpcTokenFile: string | undefined; rpcTokenRead: boolean },
  logger: Pick<Logger, 'warn'>,
): TokenAccess | undefined {
  const { rpcAddr, rpcTokenFile, rpcTokenRead: guardsReading } = values
  if (rpcTokenFile !== undefined) return { token: loadToken(rpcTokenFile, { create: true }), guardsReading }
  if (guardsReading) throw new UsageError('--rpc.token-read requires --rpc.token-file')
  if (isLoopback(rpcAddr)) return undefined
  logger.warn('Other machines reach this RPC, and it has no token: methods that change something are refused', {
    address: rpcAddr,
    flag: 'rpc.token-file',
  })
  return { token: undefined, guardsReading }
}
