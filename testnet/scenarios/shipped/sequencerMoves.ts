import { agree, safeAgree } from '../conditions.ts'
import type { Condition, Scenario, ScenarioSteps } from '../scenario.ts'

export const sequencerMoves: Scenario = {
  about: 'Another node continues the chain where the sequencer stopped. Only one node builds blocks at a time.',
  async steps(steps) {
    const { sequencer, names } = await steps.now()
    await steps.run('load 10')
    await moveTo(names.find((name) => name !== sequencer) ?? '', steps)
    await moveTo(sequencer, steps)
    await steps.run('load off')
  },
}

async function moveTo(name: string, { run, waitFor, check, now }: ScenarioSteps): Promise<void> {
  const { head } = await now()
  await run(`sequencer move ${name}`)
  await waitFor('all nodes agree', agree())
  await check(`block ${head}, the head before, is still on the chain`, ({ haveSameBlock }) => haveSameBlock(head))
  await check(`only ${name} makes blocks`, onlyMaker(name))
  await waitFor(`blocks of ${name} are safe`, safeAgree)
}

const onlyMaker =
  (name: string): Condition =>
  async ({ names, request }) => {
    const areActive = await Promise.all(names.map((one) => request(one, 'admin_sequencerActive')))
    return names.every((one, index) => areActive[index] === (one === name))
  }
