import { type RpcClient, RpcTransportError } from '../../jsonRpc/client.ts'
import { quantityToBigInt } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'

type Rpc = Pick<RpcClient, 'request' | 'batch' | 'url'>

/**
 * Several addresses of one L1 as one: requests go to the same address until it does not answer, then to the next that
 * does. An address is used only when it serves the chain of the first one that was ever used. Errors that an L1 answers
 * with are answers. With one address, that one's client.
 */
export function createL1Failover(clients: readonly Rpc[], logger: Logger): Rpc {
  const [only] = clients
  if (only === undefined) throw new RangeError('an L1 needs an address')
  if (clients.length === 1) return only
  let current = 0
  let chainId: bigint | undefined
  const verified = new Set<number>()

  const isUsable = async (index: number, client: Rpc): Promise<boolean> => {
    if (verified.has(index)) return true
    const served = quantityToBigInt(await client.request('eth_chainId', []), 'eth_chainId')
    chainId ??= served
    if (served !== chainId) {
      logger.error('An address of the L1 serves another chain, it is passed over', {
        endpoint: client.url,
        chain: served,
        expected: chainId,
      })
      return false
    }
    verified.add(index)
    return true
  }

  const run = async <T>(call: (client: Rpc) => Promise<T>): Promise<T> => {
    let failure: unknown
    const first = current
    for (let step = 0; step < clients.length; step++) {
      const index = (first + step) % clients.length
      const client = clients[index]
      if (client === undefined) continue
      try {
        if (!(await isUsable(index, client))) continue
        const answer = await call(client)
        if (current !== index) {
          logger.warn('Another address of the L1 is used now', { endpoint: client.url, err: failure })
          current = index
        }
        return answer
      } catch (error) {
        // An answer, or the caller does not want one any more.
        if (!(error instanceof RpcTransportError)) throw error
        failure ??= error
      }
    }
    throw failure ?? new RpcTransportError('rpc-transport', 'no address of the L1 serves its chain')
  }

  return {
    url: clients.map(({ url }) => url).join(','),
    request: (method, params, options) => run((client) => client.request(method, params, options)),
    batch: (calls, options) => run((client) => client.batch(calls, options)),
  }
}
