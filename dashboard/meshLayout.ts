/** A position relative to the centre of the picture. */
export interface Point {
  x: number
  y: number
}

export interface MeshLayoutOptions {
  /** Radii of the ring of nodes and of the ring of peers. */
  inner: number
  outer: number
  nodeRadius: number
  /** Wanted angle between two peers, in radians, so that their names do not overlap. */
  apart: number
}

/** Step of the search for a peer's place, in radians. */
const STEP = Math.PI / 90
const CLEARANCE = 4
/** Cost of a line beneath a node, in steps away from the peer's neighbours. */
const PASSES_BENEATH = 40
/** Cost of half the wanted distance from the next peer. */
const TOO_CLOSE = 1_000

/**
 * Places nodes evenly on a ring, and each peer outside it near its neighbours. A line beneath a node's circle would look like a
 * connection to that node. `neighbours` holds nodes by peer id.
 */
export function meshLayout(
  nodes: readonly string[],
  neighbours: ReadonlyMap<string, readonly string[]>,
  options: MeshLayoutOptions,
): Map<string, Point> {
  const { inner, outer, apart } = options
  const places = new Map<string, Point>()
  const isAlone = nodes.length === 1
  for (const [index, id] of nodes.entries()) {
    places.set(id, isAlone ? { x: 0, y: 0 } : onRing(evenly(index, nodes.length), inner))
  }
  const ring = nodes.flatMap((id) => places.get(id) ?? [])
  const wanted = Math.min(apart, (2 * Math.PI) / Math.max(1, neighbours.size))
  const taken: number[] = []
  for (const [index, [id, ids]] of [...neighbours].entries()) {
    const ends = ids.flatMap((neighbour) => places.get(neighbour) ?? [])
    const best = isAlone
      ? evenly(index, neighbours.size)
      : cheapest(meanAngle(ends) ?? evenly(index + 0.5, neighbours.size), (angle) => {
          const from = onRing(angle, outer)
          const beneath = ends.filter((to) => passesBeneath(from, to, ring, options.nodeRadius + CLEARANCE)).length
          const tooClose = taken.reduce((sum, other) => sum + Math.max(0, 1 - distance(angle, other) / wanted), 0)
          return beneath * PASSES_BENEATH + tooClose * 2 * TOO_CLOSE
        })
    taken.push(best)
    places.set(id, onRing(best, outer))
  }
  return places
}

/** Clockwise from the top. */
function evenly(index: number, length: number): number {
  return (2 * Math.PI * index) / Math.max(1, length) - Math.PI / 2
}

function onRing(angle: number, radius: number): Point {
  return { x: radius * Math.cos(angle), y: radius * Math.sin(angle) }
}

/** Undefined if the points cancel out, or there are none. */
function meanAngle(points: readonly Point[]): number | undefined {
  const x = points.reduce((sum, point) => sum + point.x, 0)
  const y = points.reduce((sum, point) => sum + point.y, 0)
  return Math.hypot(x, y) < 1 ? undefined : Math.atan2(y, x)
}

/** The difference of two angles, at most π. */
function distance(a: number, b: number): number {
  const turn = Math.abs(a - b) % (2 * Math.PI)
  return Math.min(turn, 2 * Math.PI - turn)
}

/** Searches angles outward from the wanted angle. The number of steps adds to the cost. */
function cheapest(wanted: number, costOf: (angle: number) => number): number {
  let best = { angle: wanted, cost: costOf(wanted) }
  for (let steps = 1; steps * STEP <= Math.PI && steps < best.cost; steps++) {
    for (const angle of [wanted + steps * STEP, wanted - steps * STEP]) {
      const cost = costOf(angle) + steps
      if (cost < best.cost) best = { angle, cost }
    }
  }
  return best.angle
}

/** Whether the line between two points crosses a circle around another point. */
function passesBeneath(from: Point, to: Point, others: readonly Point[], radius: number): boolean {
  const [dx, dy] = [to.x - from.x, to.y - from.y]
  const square = dx * dx + dy * dy
  return others.some((other) => {
    if (other === to) return false
    const along = Math.min(1, Math.max(0, ((other.x - from.x) * dx + (other.y - from.y) * dy) / square))
    return Math.hypot(from.x + along * dx - other.x, from.y + along * dy - other.y) < radius
  })
}
