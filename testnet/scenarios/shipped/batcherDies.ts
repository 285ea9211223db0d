import { agree, safeAgree, stands } from '../conditions.ts'
import type { Scenario } from '../scenario.ts'

export const batcherDies: Scenario = {
  about: 'Without a batch submitter new blocks stay unsafe. After its restart the submitter posts all of them.',
  async steps({ run, waitFor }) {
    await run('kill batcher')
    await waitFor(
      'no block becomes safe while 6 are made',
      stands(({ safe, sequencer }) => safe(sequencer), 6),
    )
    await waitFor('all nodes agree', agree())
    await run('start batcher')
    await waitFor('all blocks made meanwhile are safe', safeAgree)
    await waitFor('nodes have no faults', ({ names, faults }) => names.every((name) => faults(name).length === 0))
  },
}
