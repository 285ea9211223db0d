import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createTokenCheck, loadToken } from './bearerToken.ts'

const usageError = (named: string) =>
  expect.objectContaining({ code: 'usage', message: expect.stringContaining(named) })

const TOKEN = 'a-token-of-some-length'

it.each([
  ['the token', `Bearer ${TOKEN}`, true],
  ['the scheme in other letters', `bearer ${TOKEN} `, true],
  ['another token', `Bearer ${TOKEN}x`, false],
  ['a part of it', `Bearer ${TOKEN.slice(1)}`, false],
  ['another scheme', `Basic ${TOKEN}`, false],
  ['two tokens', `Bearer ${TOKEN} ${TOKEN}`, false],
  ['nothing behind the scheme', 'Bearer ', false],
  ['no header', undefined, false],
])('an Authorization header with %s', (_what, header, isGood) => {
  expect(createTokenCheck({ token: TOKEN, guardsReading: false })(header)).toBe(isGood)
  expect(createTokenCheck({ token: undefined, guardsReading: false })(header)).toBe(false)
})

describe('a token file', () => {
  const pathInTest = () => {
    const folder = mkdtempSync(join(tmpdir(), 'devium-token-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    return join(folder, 'token')
  }

  it('is created if missing, readable by its owner only, and not overwritten', () => {
    const path = pathInTest()
    const token = loadToken(path, { create: true })
    expect(token).toMatch(/^0x[0-9a-f]{64}$/)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(loadToken(path, { create: true })).toBe(token)
    expect(readFileSync(path, 'utf8')).toBe(token)
  })

  it('may end with a new line', () => {
    const path = pathInTest()
    writeFileSync(path, `${TOKEN}\n`, { mode: 0o600 })
    expect(loadToken(path, { create: false })).toBe(TOKEN)
  })

  it('is refused if it is missing and must not be created', () => {
    const path = pathInTest()
    expect(() => loadToken(path, { create: false })).toThrow(usageError(path))
  })

  it.each([0o640, 0o604, 0o666])('is refused if other users may read or write it (%o)', (mode) => {
    const path = pathInTest()
    writeFileSync(path, TOKEN)
    chmodSync(path, mode)
    expect(() => loadToken(path, { create: true })).toThrow(usageError(`${path} (mode ${mode.toString(8)})`))
  })

  it.each(['short', 'two tokens of a length', ''])(
    'is refused if it contains %j, and the error does not repeat it',
    (text) => {
      const path = pathInTest()
      writeFileSync(path, text, { mode: 0o600 })
      const load = () => loadToken(path, { create: true })
      expect(load).toThrow(usageError(path))
      expect(load).toThrow(usageError('16'))
      if (text !== '') expect(load).not.toThrow(text)
    },
  )
})
