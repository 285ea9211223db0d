import { setTimeout as delay } from 'node:timers/promises'
import {
  CUT_KINDS,
  catchUp,
  cutLink,
  droppingLinks,
  killStaticPeer,
  partition,
  restartSequencer,
  SHAPES,
} from '../test/support/faultScenarios.ts'

// The network under faults, each scenario in full length: node bench/faults.ts [scenario…]
// Prints one JSON object for each result. Exit code 1 if a target is missed.

const show = (scenario: string, report: object, met: boolean): boolean => {
  console.log(JSON.stringify({ scenario, met, ...report }))
  return met
}

const scenarios: Record<string, () => Promise<boolean[]>> = {
  /** A cut of 3 s in every 10 s, for 5 minutes. Each kind of cut and both block times, one and two seconds, run in parallel. */
  cut: () =>
    Promise.all(
      CUT_KINDS.flatMap((kind) =>
        [1, 2].map(async (blockTimeS) => {
          const report = await cutLink({ kind, blockTimeS, cycles: 30 })
          const met = report.worstBehind <= 2 && report.bans === 0 && report.lowestScore >= 0 && report.sameChain
          return show('cut', report, met)
        }),
      ),
    ),
  /** Five nodes, partitioned for 60 s. */
  partition: async () => {
    const results: boolean[] = []
    for (const kind of ['reset', 'forgotten'] as const) {
      const reports = await Promise.all(SHAPES.map((shape) => partition(shape, kind, 60_000)))
      for (const report of reports) results.push(show('partition', report, report.healedMs <= 10_000))
    }
    return results
  },
  /** Links to the sequencer that are cut in turn. Each block takes the remaining path. */
  dropping: async () => {
    const reports = await Promise.all(CUT_KINDS.map((kind) => droppingLinks(kind, 6)))
    return reports.map((report) => show('dropping', report, report.slowestMs <= 1_000 && report.sameChain))
  },
  kill: async () => {
    const results: boolean[] = []
    for (const awayMs of [1_000, 10_000, 60_000]) {
      const report = await killStaticPeer(awayMs)
      // A tenth of the downtime, and the time of a dial.
      const met = report.noticedMs <= 1_000 && report.reconnectedMs <= 2_000 + awayMs / 10
      results.push(show('kill', report, met))
    }
    return results
  },
  catchup: async () => [
    show('catchup', await catchUp(500), true),
    show('catchup with a second peer', await catchUp(500, { helpers: [{}] }), true),
    show(
      'catchup with a slow second peer',
      await catchUp(60, { helpers: [{ beforeAnswer: () => delay(5_000) }] }),
      true,
    ),
  ],
  restart: async () => [show('restart', await restartSequencer(5_000), true)],
}

const given = process.argv.slice(2)
const names = given.length > 0 ? given : Object.keys(scenarios)
let allMet = true
for (const name of names) {
  const run = scenarios[name]
  if (run === undefined) {
    console.error(`no scenario ${name}; there are ${Object.keys(scenarios).join(', ')}`)
    process.exit(2)
  }
  allMet = (await run()).every(Boolean) && allMet
}
process.exit(allMet ? 0 : 1)
