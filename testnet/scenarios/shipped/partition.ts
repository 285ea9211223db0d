import { agree, blocks, meshed, nobodyBanned } from '../conditions.ts'
import type { Condition, Scenario } from '../scenario.ts'

export const partition: Scenario = {
  about: 'Nodes cut off from the sequencer follow by L1. After the links are restored they have its head again.',
  testnet: { nodes: 4 },
  async steps({ run, waitFor, check, holds, now }) {
    const { names } = await now()
    const [near, far] = [names.slice(0, names.length / 2), names.slice(names.length / 2)]
    const [lost = ''] = far
    await waitFor('all nodes are connected with each other', meshed)
    await run(`partition ${near}|${far}`)
    const apart: Condition = ({ peers }) =>
      [near, far].every((side) => side.every((name) => peers(name) === side.length - 1))
    await waitFor('each side has only peers of its own', apart)
    await holds('no peer comes across', apart, blocks(12))
    await waitFor(`${near.at(-1)} gets blocks by gossip, ${lost} does not`, (state) => {
      const behind = (name: string) => state.head - state.unsafe(name)
      return behind(near.at(-1) ?? '') < 2 && behind(lost) > 1
    })
    await waitFor(`${lost} goes on by L1`, (state, before) => state.safe(lost) > before.unsafe(lost))
    await run('heal')
    await waitFor('all nodes are connected with each other', meshed)
    await waitFor('all nodes agree', agree())
    await check('nobody was banned', nobodyBanned)
  },
}
