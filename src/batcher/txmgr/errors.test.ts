import { describe, expect, it } from 'vitest'
import { classifyPublishError, TxError } from './errors.ts'

describe('classifyPublishError', () => {
  it.each([
    ['Nonce too low: next nonce 5', 'nonce-too-low'],
    ['nonce too high', 'nonce-too-high'],
    ['already known', 'already-known'],
    ['transaction already imported', 'already-known'],
    ['AlreadyKnown', 'already-known'],
    ['replacement transaction underpriced', 'replacement-underpriced'],
    ['transaction underpriced: tip needed 1', 'underpriced'],
    ['max fee per gas less than block base fee', 'underpriced'],
    ['address already reserved', 'incompatible-type'],
    ['invalid sidecar', 'proof-form'],
    ['unexpected proof version', 'proof-form'],
    ['out of gas', 'unknown'],
  ])('classifies the message: %s', (message, problem) => {
    expect(classifyPublishError(message, [])).toBe(problem)
  })

  it("uses the operator's substrings, except an empty one", () => {
    expect(classifyPublishError('Seen It before', ['other', 'seen it'])).toBe('already-known')
    expect(classifyPublishError('seen it before', ['SEEN IT'])).toBe('already-known')
    expect(classifyPublishError('out of gas', ['', 'seen it'])).toBe('unknown')
  })
})

it('TxError is temporary, and has a cause only if one is given', () => {
  const cause = new Error('no answer')
  expect(new TxError('tx-craft', 'no fees', cause)).toMatchObject({ name: 'TxError', severity: 'temporary', cause })
  expect(new TxError('tx-craft', 'no fees')).not.toHaveProperty('cause')
})
