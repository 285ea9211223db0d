import { z } from 'zod'
import type { Now } from './now.ts'
import type { Condition } from './scenario.ts'

/** All nodes, or the named nodes, are on one chain and beyond the head at the step's start. */
export const agree =
  (names?: readonly string[]): Condition =>
  async (now, before) => {
    const nodes = names ?? now.names
    const height = Math.min(...nodes.map((name) => now.unsafe(name)))
    return height > before.head && (await now.haveSameBlock(height, nodes))
  }

/** The head at the step's start is safe on all nodes, and they share it. */
export const safeAgree: Condition = async (now, before) =>
  now.names.every((name) => now.safe(name) >= before.head) && (await now.haveSameBlock(before.head))

/** At least `count` blocks were built since the step's start. */
export const blocks =
  (count: number): Condition =>
  (now, before) =>
    now.head >= before.head + count

/** A value has not changed for `count` blocks. */
export function stands(value: (now: Now) => number, count: number): Condition {
  let last = { value: -1, head: 0 }
  return (now) => {
    if (value(now) !== last.value) last = { value: value(now), head: now.head }
    return now.head >= last.head + count
  }
}

/** Every node is connected to every other node. */
export const meshed: Condition = (now) => now.names.every((name) => now.peers(name) === now.names.length - 1)

/** No node has a ban. */
export const nobodyBanned: Condition = async (now) => {
  const bans = await Promise.all(now.names.map((name) => now.request(name, 'deviump2p_bans')))
  return bans.every((list) => JSON.stringify(list) === '[]')
}

const recentBlocks = z.array(z.object({ number: z.number(), came: z.object({ way: z.string() }).nullable() }))

/** The named nodes, or all verifiers, got a block by gossip that was built after the step's start. */
export const gossiped =
  (names?: readonly string[]): Condition =>
  async (now, before) => {
    const nodes = names ?? now.names.filter((name) => name !== now.sequencer)
    const answers = await Promise.all(nodes.map((name) => now.request(name, 'devium_recentBlocks')))
    return answers.every((answer) =>
      recentBlocks.parse(answer).some(({ number, came }) => number > before.head && came?.way === 'gossip'),
    )
  }
