import { describe, expect, it } from 'vitest'
import { meshSizeFrom, sharedSafeHeight } from './status.ts'

const node = (name: string, safe?: number) =>
  safe === undefined ? { name } : { name, safe: { number: safe, hash: '0x00' as const } }

describe('sharedSafeHeight', () => {
  it('is the lowest safe head, above genesis', () => {
    expect(sharedSafeHeight({ nodes: [node('a', 5), node('b', 3)] })).toBe(3)
    expect(sharedSafeHeight({ nodes: [node('a', 5), node('b', 0)] })).toBeUndefined()
    expect(sharedSafeHeight({ nodes: [node('a', 5), node('b')] })).toBeUndefined()
  })
})

describe('meshSizeFrom', () => {
  it('finds the gauge among other metrics', () => {
    const page = [
      '# TYPE op_node_default_p2p_mesh_peers gauge',
      'op_node_default_p2p_mesh_peers 2',
      'op_node_default_p2p_peer_count 7',
    ].join('\n')
    expect(meshSizeFrom(page)).toBe(2)
    expect(meshSizeFrom('op_node_default_p2p_peer_count 7')).toBeUndefined()
  })
})
