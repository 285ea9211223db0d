import { describe, expect, it } from 'vitest'
import { DecodeError, describeError } from './errors.ts'

describe('describeError', () => {
  it('puts the causes behind the message, each once', () => {
    const cause = new Error('reset by peer', { cause: 'reset by peer' })
    expect(describeError(new DecodeError('cannot read', { cause }))).toBe('cannot read: reset by peer')
    expect(describeError(new DecodeError('cannot read: reset by peer', { cause }))).toBe('cannot read: reset by peer')
  })

  it('describes a thrown event by its error, else by its name', () => {
    const withError = Object.assign(new Event('close'), { error: new Error('reset by peer') })
    expect(describeError(withError)).toBe('reset by peer')
    expect(describeError(new Event('close'))).toBe('close')
    expect(describeError(new DecodeError('connection lost: close', { cause: new Event('close') }))).toBe(
      'connection lost: close',
    )
  })
})
