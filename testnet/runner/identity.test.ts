import { describe, expect, it } from 'vitest'
import { fromHex } from '../../src/lib/hex.ts'
import { enodeOf, peerIdOfPublicKey } from './identity.ts'

describe('identity', () => {
  it('computes the same peer id as op-node', () => {
    // Public key and peer id from one opp2p_self result. The key is part of the ENR.
    const publicKey = fromHex('0x03c7bbfe4368bd786b51e2fedf3c6a79cd79d0430c5892de3ed1ce1586aaaa3c85')
    expect(peerIdOfPublicKey(publicKey)).toBe('16Uiu2HAmS6fk9D3hbmW9QwfyWTiMFuRWB1h8dddBD8thZD9tGoGY')
  })

  it("computes a node's enode before it runs", () => {
    // The public key of 1 is the curve's base point (SEC 2, section 2.4.1).
    const key = new Uint8Array(32).with(31, 1)
    const x = '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'
    const y = '483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8'
    expect(enodeOf(key, '127.0.0.1', 9514)).toBe(`enode://${x}${y}@127.0.0.1:9514`)
  })
})
