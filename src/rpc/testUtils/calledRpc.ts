import { Registry } from 'prom-client'
import { createCallContext } from '../../jsonRpc/callContext.ts'
import { systemClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { WAIT_LIMIT_MS } from '../../lib/testUtils/until.ts'
import { createRollupRpc, createRpcMetrics } from '../index.ts'
import type { TestnetControl } from '../rollupMethods.ts'
import { recorder } from './recorder.ts'

/** The node's RPC over recorded answers. `call` gives an answer without its id and version. */
export function createCalledRpc() {
  const fixture = recorder()
  const levels: string[] = []
  const call = async (
    method: string,
    params: unknown[] = [],
    options: { enableAdmin?: boolean; p2p?: boolean; testnet?: TestnetControl } = {},
  ): Promise<Record<string, unknown>> => {
    const { dispatcher } = createRollupRpc(
      {
        node: fixture.node,
        p2p: options.p2p === false ? undefined : fixture.p2p,
        clock: systemClock,
        logger: { ...silentLogger, setLevel: (level: string) => void levels.push(level) },
        metrics: createRpcMetrics(new Registry(), 'x'),
        testnet: options.testnet,
      },
      { version: 'v1.2.3', enableAdmin: options.enableAdmin ?? true },
    )
    const chunks = await dispatcher.handle(
      JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      createCallContext({ timeoutMs: WAIT_LIMIT_MS }),
    )
    const { id: _, jsonrpc: __, ...answer } = JSON.parse(chunks?.join('') ?? '{}')
    return answer
  }
  return { fixture, levels, call }
}
