import { z } from 'zod'
import { agree, blocks, gossiped, meshed } from '../conditions.ts'
import type { Condition, Scenario } from '../scenario.ts'

/**
 * Attacks that lead to a ban at once. Where the connection is closed first, as for `streams`, the next attempt has a new
 * identity.
 */
const KINDS = ['garbage', 'bad-rpc', 'rpc-flood', 'oversized-rpc']

export const hostilePeers: Scenario = {
  about: 'A node under attack bans the hostile peers. Meanwhile it gets its blocks by gossip and keeps its peers.',
  async steps({ run, waitFor, holds, now }) {
    const { names, sequencer } = await now()
    const victim = names.find((name) => name !== sequencer) ?? ''
    for (const kind of KINDS) {
      await run(`hostile ${kind} ${victim}`)
      await waitFor(`${victim} bans whoever sends ${kind}`, moreBans(victim))
      await waitFor(`blocks come to ${victim} by gossip`, gossiped([victim]))
      await run('hostile off')
    }
    for (const kind of KINDS) await run(`hostile ${kind} ${victim}`)
    await holds(
      `${victim} keeps its peers under all attacks at once`,
      ({ peers }) => peers(victim) >= names.length - 1,
      blocks(5),
    )
    await waitFor(`blocks come to ${victim} by gossip`, gossiped([victim]))
    await run('hostile off')
    await waitFor('all nodes are connected with each other', meshed)
    await waitFor('all nodes agree', agree())
  },
}

const bans = z.array(z.object({ subject: z.string() }))

/** A peer was banned that was not banned at the step's start. */
function moreBans(node: string): Condition {
  let before: Set<string> | undefined
  return async ({ request }) => {
    const subjects = bans.parse(await request(node, 'deviump2p_bans')).map(({ subject }) => subject)
    before ??= new Set(subjects)
    return subjects.some((subject) => before?.has(subject) === false)
  }
}
