import { agree, gossiped, meshed } from '../conditions.ts'
import type { Scenario } from '../scenario.ts'

export const addNode: Scenario = {
  about: 'A node that joins later finds all other nodes and follows by gossip. After its removal the others continue.',
  async steps({ run, waitFor, now }) {
    await run('add-node')
    const name = (await now()).names.at(-1) ?? ''
    await waitFor('all nodes agree', agree())
    await waitFor(`blocks come to ${name} by gossip`, gossiped([name]))
    await waitFor('all nodes are connected with each other', meshed)
    await run(`remove-node ${name}`)
    await waitFor('the others have only each other', meshed)
    await waitFor('all nodes agree', agree())
  },
}
