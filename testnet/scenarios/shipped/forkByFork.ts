import { TESTNET_FORKS } from '../../forks.ts'
import { agree, safeAgree } from '../conditions.ts'
import type { Scenario } from '../scenario.ts'

/** Forks that need no file. Lagoon needs its upgrade transactions. */
const FORKS = TESTNET_FORKS.slice(1, TESTNET_FORKS.indexOf('karst') + 1)
/** Seconds after the start. The start itself takes part of them. */
const FIRST_SECONDS = 30
const APART_SECONDS = 12

export const forkByFork: Scenario = {
  about: 'The chain activates all forks under load. After each fork all nodes agree, and derive its blocks from L1.',
  testnet: { forkAt: FORKS.map((fork, index) => `${fork}:${FIRST_SECONDS + index * APART_SECONDS}`).join(',') },
  async steps({ run, waitFor }) {
    await run('load 10')
    for (const [index, fork] of FORKS.entries()) {
      const forkOrLater: readonly string[] = FORKS.slice(index)
      await waitFor(`${fork} is active`, ({ status }) => forkOrLater.includes(status.fork?.active ?? ''))
      await waitFor('all nodes agree', agree())
    }
    await waitFor('blocks of the last fork are safe', safeAgree)
    await waitFor('no node has a fault', ({ names, faults }) => names.every((name) => faults(name).length === 0))
    await run('load off')
  },
}
