import { execFile } from 'node:child_process'
import fs, { existsSync, fstatSync, mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createJwt, createJwtCheck, loadJwtSecret } from './jwt.ts'

const SECRET = new Uint8Array(32).fill(7)

describe('checking a token', () => {
  it('accepts a token of the last minute any number of times, until it expires', () => {
    const check = createJwtCheck(SECRET)
    const token = createJwt(SECRET, 1000)
    for (const now of [940, 1000, 1060]) expect(check(token, now)).toBeUndefined()
    expect(check(token, 1061)).toBe('stale token')
    expect(check(createJwt(SECRET, 1050), 1061)).toBeUndefined()
    expect(check(token, 1060)).toBeUndefined()
  })

  it('refuses a token with a wrong signature', () => {
    const check = createJwtCheck(SECRET)
    const token = createJwt(SECRET, 1000)
    expect(check(token, 1000)).toBeUndefined()
    const other = createJwt(new Uint8Array(32), 1000)
    expect(other.length).toBe(token.length)
    expect(check(other, 1000)).toBe('signature is invalid')
    expect(check(token, 1000)).toBeUndefined()
  })

  const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from('{"iat":1000}').toString('base64url')}.`
  it.each([
    { id: 'stale', token: createJwt(SECRET, 1000), now: 1061, problem: 'stale token' },
    { id: 'from the future', token: createJwt(SECRET, 1000), now: 939, problem: 'stale token' },
    {
      id: 'signed with another secret',
      token: createJwt(new Uint8Array(32), 1000),
      now: 1000,
      problem: 'signature is invalid',
    },
    { id: 'unsigned', token: unsigned, now: 1000, problem: 'signature is invalid' },
    { id: 'garbage', token: 'a.b', now: 1000, problem: 'malformed token' },
  ])('refuses a token that is $id', ({ token, now, problem }) => {
    expect(createJwtCheck(SECRET)(token, now)).toBe(problem)
  })
})

describe('loadJwtSecret', () => {
  const folder = mkdtempSync(join(tmpdir(), 'devium-jwt-'))

  it('creates a missing file for its owner only, and reads it back', () => {
    const path = join(folder, 'new', 'jwt.txt')
    const secret = loadJwtSecret(path, { create: true })
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(loadJwtSecret(path, { create: false })).toEqual(secret)
  })

  it('leaves one secret and no other file when two programs create it at once', async () => {
    const path = join(folder, 'both', 'jwt.txt')
    const script = `import { loadJwtSecret } from ${JSON.stringify(new URL('./jwt.ts', import.meta.url).href)}
      process.stdout.write(Buffer.from(loadJwtSecret(process.argv[1], { create: true })).toString('hex'))`
    const run = promisify(execFile)
    const options = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script, path]
    const outputs = await Promise.all(Array.from({ length: 4 }, () => run(process.execPath, options)))
    expect(new Set(outputs.map(({ stdout }) => stdout)).size).toBe(1)
    expect(readdirSync(join(folder, 'both'))).toEqual(['jwt.txt'])
  })

  it.each([true, false])('syncs a new file before it has its name, and then its directory; links: %s', (hasLinks) => {
    const path = join(mkdtempSync(join(folder, 'synced-')), 'jwt.txt')
    const synced: unknown[] = []
    const sync = vi.spyOn(fs, 'fsyncSync').mockImplementation((descriptor) => {
      synced.push({ isDirectory: fstatSync(descriptor).isDirectory(), exists: existsSync(path) })
    })
    const link = vi.spyOn(fs, 'linkSync')
    if (!hasLinks) {
      link.mockImplementation(() => {
        throw Object.assign(new Error('not permitted'), { code: 'EPERM' })
      })
    }
    syncBuiltinESMExports()
    onTestFinished(() => {
      sync.mockRestore()
      link.mockRestore()
      syncBuiltinESMExports()
    })
    const secret = loadJwtSecret(path, { create: true })
    expect(synced).toEqual([
      { isDirectory: false, exists: false },
      { isDirectory: true, exists: true },
    ])
    expect(loadJwtSecret(path, { create: false })).toEqual(secret)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(dirname(path))).toEqual(['jwt.txt'])
  })

  it('names the file, but not its content', () => {
    const path = join(folder, 'short.txt')
    writeFileSync(path, 'beefbeef')
    const load = () => loadJwtSecret(path, { create: true })
    expect(load).toThrow(expect.objectContaining({ code: 'usage', message: expect.stringContaining(path) }))
    expect(load).not.toThrow('beefbeef')
    const missing = join(folder, 'missing')
    expect(() => loadJwtSecret(missing, { create: false })).toThrow(
      expect.objectContaining({ code: 'usage', message: expect.stringContaining(missing) }),
    )
  })
})
