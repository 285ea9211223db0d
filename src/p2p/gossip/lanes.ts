/** The work of one peer waits for its own, not for that of others. */
export interface Lanes {
  /** Resolves with the work, which begins at once when the peer has little under way. Undefined: too much waits. */
  run(peerId: string, work: () => Promise<void>): Promise<void> | undefined
  /** Pieces of work of this peer, begun and not ended. */
  active(peerId: string): number
}

interface Lane {
  active: number
  waiting: (() => void)[]
}

export function createLanes(options: { atOnce: number; maxWaiting: number }): Lanes {
  const lanes = new Map<string, Lane>()

  const start = async (peerId: string, lane: Lane, work: () => Promise<void>): Promise<void> => {
    lane.active += 1
    try {
      await work()
    } finally {
      lane.active -= 1
      const next = lane.waiting.shift()
      if (next !== undefined) next()
      else if (lane.active === 0) lanes.delete(peerId)
    }
  }
  return {
    run(peerId, work) {
      let lane = lanes.get(peerId)
      if (lane === undefined) {
        lane = { active: 0, waiting: [] }
        lanes.set(peerId, lane)
      }
      const { active, waiting } = lane
      if (active < options.atOnce) return start(peerId, lane, work)
      if (waiting.length >= options.maxWaiting) return undefined
      return new Promise((resolve, reject) => {
        const own = lane
        waiting.push(() => start(peerId, own, work).then(resolve, reject))
      })
    },
    active: (peerId) => lanes.get(peerId)?.active ?? 0,
  }
}
