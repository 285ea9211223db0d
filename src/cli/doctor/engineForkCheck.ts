import { type Clock, unixSeconds } from '../../lib/clock.ts'
import type { RpcClient } from '../../lib/jsonRpc/client.ts'
import type { EngineForkProblem } from '../../rollup/node/index.ts'
import type { RollupConfig } from '../../rollup/protocol/index.ts'

/** For a running node: what `devium doctor` would say of its engine and a fork ahead. */
export function createEngineForkCheck(
  { rpc, clock }: { rpc: Pick<RpcClient, 'url' | 'request'>; clock: Clock },
  config: RollupConfig,
): EngineForkProblem {
  return async ({ name }) => {
    // A fork is ahead once in months.
    const { askEngine } = await import('./gatherEngine.ts')
    const { judgeEngine } = await import('./engineRules.ts')
    const nowS = unixSeconds(clock)
    const findings = judgeEngine({ engine: await askEngine(rpc, config, nowS), chain: { config }, nowS })
    return findings.find(({ fork, stops }) => fork === name && stops !== null)?.text.replace(/\.$/, '')
  }
}
