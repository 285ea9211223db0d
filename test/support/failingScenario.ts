import type { Scenario } from '../../testnet/scenarios/scenario.ts'

/** A scenario that always fails. */
const failingScenario: Scenario = {
  about: 'Blocks go on without the program that makes them.',
  async steps({ run, check }) {
    await run('kill sequencer')
    await check('the sequencer answers', ({ head }) => head >= 0)
  },
}
export default failingScenario
