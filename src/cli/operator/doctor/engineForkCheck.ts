import type { RpcClient } from '../../../jsonRpc/client.ts'
import { type Clock, unixSeconds } from '../../../lib/clock.ts'
import type { EngineForkCheck } from '../../../rollup/node/index.ts'
import type { RollupConfig } from '../../../rollup/protocol/index.ts'

/** For a running node: the verdict of `devium doctor` on its engine and a coming fork. */
export function createEngineForkCheck(
  { rpc, clock }: { rpc: Pick<RpcClient, 'url' | 'request'>; clock: Clock },
  config: RollupConfig,
): EngineForkCheck {
  return async ({ name, time }) => {
    // Loaded on demand, because a fork is rare.
    const { queryEngine } = await import('./gatherEngine.ts')
    const { isEngineReady, judgeEngine } = await import('./engineRules.ts')
    const nowS = unixSeconds(clock)
    const facts = { engine: await queryEngine(rpc, config, nowS), chain: { config }, nowS }
    const found = judgeEngine(facts).find(({ fork, stops }) => fork === name && stops !== null)
    return { isReady: isEngineReady(facts, name, time), problem: found?.text.replace(/\.$/, '') }
  }
}
