import { agree, blocks, gossiped, meshed } from '../conditions.ts'
import type { Scenario } from '../scenario.ts'

export const deadStaticPeers: Scenario = {
  about: 'Nodes whose static peers are dead follow by other peers, and reconnect once the static peers are back.',
  testnet: { nodes: 4 },
  async steps({ run, waitFor, holds, now }) {
    const { names } = await now()
    const dead = names.slice(-2)
    for (const name of dead) await run(`kill ${name}`)
    // Two of its three static peers are dead.
    await run('add-node')
    const added = (await now()).names.at(-1) ?? ''
    const living = [...names.slice(0, -2), added]
    await waitFor(`blocks come to ${added} by gossip`, gossiped([added]))
    await holds(
      'all living nodes are connected with each other',
      ({ peers }) => living.every((name) => peers(name) === living.length - 1),
      blocks(10),
    )
    await waitFor('all living nodes agree', agree(living))
    for (const name of dead) await run(`start ${name}`)
    await waitFor('all nodes are connected with each other', meshed)
    await waitFor('all nodes agree', agree())
    await run(`remove-node ${added}`)
  },
}
