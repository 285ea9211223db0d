import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { meshLayout, type Point } from '../dashboard/meshLayout.ts'

const OPTIONS = { inner: 96, outer: 144, nodeRadius: 13, apart: Math.PI / 8 }
const nodes = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`)

function lay(count: number, neighbours: Record<string, string[]>) {
  const places = meshLayout(nodes(count), new Map(Object.entries(neighbours)), OPTIONS)
  return (id: string): Point => places.get(id) ?? { x: Number.NaN, y: Number.NaN }
}
const degrees = ({ x, y }: Point) => Math.round((Math.atan2(y, x) * 180) / Math.PI)

/** How far a point is from the line between two others. */
function fromLine(point: Point, a: Point, b: Point): number {
  const [dx, dy] = [b.x - a.x, b.y - a.y]
  const along = ((point.x - a.x) * dx + (point.y - a.y) * dy) / (dx * dx + dy * dy)
  const at = Math.min(1, Math.max(0, along))
  return Math.hypot(a.x + at * dx - point.x, a.y + at * dy - point.y)
}

describe('the picture of the mesh', () => {
  it('draws a peer next to its node, or between two nodes', () => {
    const at = lay(4, { one: ['n1'], two: ['n2', 'n3'] })
    expect([degrees(at('n1')), degrees(at('one')), degrees(at('two'))]).toEqual([0, 0, 135])
  })

  it('draws peers of the same node without overlap', () => {
    const at = lay(5, { a: ['n0'], b: ['n0'], c: ['n0'] })
    const angles = ['a', 'b', 'c'].map((id) => degrees(at(id))).sort((a, b) => a - b)
    expect(angles).toEqual([-114, -90, -66])
  })

  it('draws the peers of a single node around it', () => {
    const at = lay(1, { a: ['n0'], b: ['n0'], c: ['n0'], d: ['n0'] })
    expect(at('n0')).toEqual({ x: 0, y: 0 })
    expect(['a', 'b', 'c', 'd'].map((id) => degrees(at(id)))).toEqual([-90, 0, 90, 180])
  })

  it('draws no line beneath another node, and no names on each other', () => {
    const peers = fc.array(fc.nat(4), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(peers, (of) => {
        const at = lay(5, Object.fromEntries(of.map((node, index) => [`p${index}`, [`n${node}`]])))
        for (const [index, node] of of.entries()) {
          for (const other of nodes(5)) {
            if (other === `n${node}`) continue
            expect(fromLine(at(other), at(`p${index}`), at(`n${node}`))).toBeGreaterThan(OPTIONS.nodeRadius)
          }
          for (let next = index + 1; next < of.length; next++) {
            const [a, b] = [at(`p${index}`), at(`p${next}`)]
            // Of 22.5 degrees on the outer ring.
            expect(Math.hypot(a.x - b.x, a.y - b.y)).toBeGreaterThan(56)
          }
        }
      }),
    )
  })
})
