import { describe, expect, it } from 'vitest'
import { enodeOf, peerIdOf } from './identity.ts'

describe('identity', () => {
  it("computes a node's enode before it runs", () => {
    // The public key of 1 is the curve's base point (SEC 2, section 2.4.1).
    const key = new Uint8Array(32).with(31, 1)
    const x = '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'
    const y = '483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8'
    expect(enodeOf(key, '127.0.0.1', 9514)).toBe(`enode://${x}${y}@127.0.0.1:9514`)
  })

  it('computes the peer id of a key before the node runs', () => {
    // Base58 of the identity multihash of the protobuf with the curve's base point (libp2p specs: peer-ids).
    expect(peerIdOf(new Uint8Array(32).with(31, 1))).toBe('16Uiu2HAm3cuhhRL2msUuLF62KRSfneFDx94RsuouyW25Ho42cFMq')
  })
})
