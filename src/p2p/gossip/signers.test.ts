import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import { ZERO_ADDRESS } from '../../rollup/protocol/types.ts'
import { createSigners } from './signers.ts'

const A: Hex = `0x${'aa'.repeat(20)}`
const B: Hex = `0x${'bb'.repeat(20)}`
const C: Hex = `0x${'cc'.repeat(20)}`
const HOURS = 3_600_000

function setUp(first: Hex | undefined) {
  const clock = new ManualClock(0)
  const state = { current: first }
  return { clock, state, signers: createSigners({ current: () => state.current, clock }) }
}

describe('createSigners', () => {
  it('accepts only the current signer at first, in upper or lower case', () => {
    const { signers } = setUp(`0x${'AA'.repeat(20)}`)
    expect(signers.accepts(A)).toBe(true)
    expect(signers.accepts(B)).toBe(false)
  })

  it('starts no grace time when the first signer becomes known', () => {
    const { signers, state } = setUp(undefined)
    expect(signers.configured()).toBe(false)
    state.current = ZERO_ADDRESS
    expect(signers.configured()).toBe(false)
    state.current = A
    expect(signers.configured()).toBe(true)
    expect(signers.accepts(ZERO_ADDRESS)).toBe(false)
  })

  const afterChange = () => {
    const all = setUp(A)
    all.signers.accepts(A)
    all.state.current = B
    return all
  }

  it('accepts the previous signer for three hours after the change was noticed', async () => {
    const { signers, clock } = afterChange()
    expect(signers.accepts(A)).toBe(true)
    await clock.advance(3 * HOURS)
    expect(signers.accepts(A)).toBe(true)
    await clock.advance(1)
    expect(signers.accepts(A)).toBe(false)
  })

  it('ends the grace time at the first block of the new signer', () => {
    const { signers } = afterChange()
    expect(signers.accepts(A)).toBe(true)
    expect(signers.accepts(B)).toBe(true)
    expect(signers.accepts(A)).toBe(false)
  })

  it('keeps only the latest previous signer', () => {
    const { signers, state } = afterChange()
    signers.configured()
    state.current = C
    expect(signers.accepts(B)).toBe(true)
    expect(signers.accepts(A)).toBe(false)
  })
})
