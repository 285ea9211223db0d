import { systemClock } from '../../../../../lib/clock.ts'
import { CHAIN_ID } from '../../../../../p2p/testUtils/testChain.ts'
import { type CheckModules, type CheckOptions, checkPeer } from '../checkPeer.ts'
import { systemResolver } from '../resolve.ts'
import type { CheckReport, CheckStep, CheckStepName } from '../steps.ts'

/** Runs a check with waits that are short enough for a test. */
export async function check(
  target: string,
  options: Partial<CheckOptions> = {},
  modules: Partial<CheckModules> = {},
): Promise<CheckReport> {
  return checkPeer(
    { clock: systemClock, resolver: systemResolver, ...modules },
    { target, timeoutMs: 10_000, standMs: 200, chainId: CHAIN_ID, ...options },
  )
}

export function step({ steps }: CheckReport, name: CheckStepName): CheckStep | undefined {
  return steps.find((found) => found.step === name)
}

/** `tcp ok, security failed` */
export function outcomes({ steps }: CheckReport): string {
  return steps.map((found) => `${found.step} ${found.outcome}`).join(', ')
}
