import { describe, expect, it } from 'vitest'
import { targetOf } from './credentials.ts'

const basic = (bytes: string | Buffer) => `Basic ${Buffer.from(bytes).toString('base64')}`

describe('targetOf', () => {
  it.each([
    ['http://h:1/path?key=a', 'http://h:1/path?key=a', undefined],
    ['http://user:pass@h:1/path?key=a', 'http://h:1/path?key=a', basic('user:pass')],
    ['https://user@h/', 'https://h/', basic('user:')],
    ['http://:pass@h/', 'http://h/', basic(':pass')],
    ['ws://us%40er:p%3Aa%2Fss@h:1/', 'ws://h:1/', basic('us@er:p:a/ss')],
    // Plain text, and percent-encoded UTF-8.
    ['http://ü:%E2%82%AC@h/', 'http://h/', basic('ü:€')],
    // Neither UTF-8 nor an escape: the bytes are kept.
    ['http://a:%ff%zz+@h/', 'http://h/', basic(Buffer.from('a:\xff%zz+', 'latin1'))],
    ['no address', 'no address', undefined],
  ])('%s', (address, url, authorization) => {
    expect(targetOf(address)).toEqual({ url, headers: authorization === undefined ? {} : { authorization } })
  })

  it('keeps an authorization header that is already set', () => {
    expect(targetOf('http://user:pass@h/', { Authorization: 'Bearer x', accept: 'y' })).toEqual({
      url: 'http://h/',
      headers: { Authorization: 'Bearer x', accept: 'y' },
    })
  })
})
