import { agree, gossiped, nobodyBanned } from '../conditions.ts'
import type { Scenario } from '../scenario.ts'

/** One machine starts and restarts them one after the other. */
const LIMIT_MS = 300_000
const KILLED = 5

export const fiftyNodes: Scenario = {
  about: 'Fifty nodes, each with four or more links, get blocks by gossip and agree, also after some were killed.',
  testnet: { nodes: 50, topology: 'random:4', blockTime: 4, l1BlockTime: 6 },
  async steps({ run, waitFor, check, now }) {
    const { names } = await now()
    await waitFor('all nodes get blocks by gossip', gossiped(), LIMIT_MS)
    await waitFor('all nodes agree', agree(), LIMIT_MS)
    // The last nodes, because no other node depends on them alone.
    const killed = names.slice(-KILLED)
    for (const name of killed) await run(`kill ${name}`)
    const others = names.slice(0, -KILLED)
    await waitFor('the others agree', agree(others), LIMIT_MS)
    for (const name of killed) await run(`start ${name}`)
    await waitFor('all nodes agree', agree(), LIMIT_MS)
    await check('nobody was banned', nobodyBanned)
  },
}
