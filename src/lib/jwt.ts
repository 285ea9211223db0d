import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describeError, isErrno, UsageError } from './errors.ts'
import { fromHex, toHex } from './hex.ts'
import { makeDirectory } from './makeDirectory.ts'

const HEADER = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url')
/** Engine API authentication spec: a token's `iat` may differ from now by at most a minute. */
const JWT_MAX_SKEW_SECONDS = 60

/** HS256 token with the only claim that the Engine API asks for. */
export function createJwt(secret: Uint8Array, issuedAtSeconds: number): string {
  const body = `${HEADER}.${Buffer.from(JSON.stringify({ iat: issuedAtSeconds })).toString('base64url')}`
  return `${body}.${createHmac('sha256', secret).update(body).digest('base64url')}`
}

/**
 * A check of tokens: undefined when one is good, otherwise what is wrong with it. A client sends the same token for a while:
 * the last good one is known again, since its signature takes longer to verify than all else that HTTP takes of a call.
 */
export function createJwtCheck(secret: Uint8Array): (token: string, nowSeconds: number) => string | undefined {
  let known: { token: Buffer; issuedAt: number } | undefined
  return (token, nowSeconds) => {
    const bytes = Buffer.from(token)
    if (known === undefined || bytes.length !== known.token.length || !timingSafeEqual(bytes, known.token)) {
      const read = readJwt(secret, token)
      if ('problem' in read) return read.problem
      known = { token: bytes, issuedAt: read.issuedAt }
    }
    return Math.abs(nowSeconds - known.issuedAt) > JWT_MAX_SKEW_SECONDS ? 'stale token' : undefined
  }
}

/** When a token that this secret has signed was issued, in seconds. */
function readJwt(secret: Uint8Array, token: string): { issuedAt: number } | { problem: string } {
  const [header, claims, signature, ...rest] = token.split('.')
  if (header === undefined || claims === undefined || signature === undefined || rest.length > 0)
    return { problem: 'malformed token' }
  const expected = createHmac('sha256', secret).update(`${header}.${claims}`).digest()
  const given = Buffer.from(signature, 'base64url')
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return { problem: 'signature is invalid' }
  try {
    if (JSON.parse(Buffer.from(header, 'base64url').toString()).alg !== 'HS256')
      return { problem: 'algorithm is not HS256' }
    const issuedAt: unknown = JSON.parse(Buffer.from(claims, 'base64url').toString()).iat
    return typeof issuedAt === 'number' ? { issuedAt } : { problem: 'missing issued-at' }
  } catch {
    return { problem: 'malformed token' }
  }
}

/**
 * Makes a file with 32 random bytes as hex, which it returns. It appears with its whole content, and once only: the engine and
 * the rollup node may both be starting.
 */
export function createSecretFile(path: string, what: string): string {
  makeDirectory(dirname(path))
  const temporary = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  const text = toHex(new Uint8Array(randomBytes(32)))
  try {
    writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' })
    linkSync(temporary, path)
    return text
  } catch (cause) {
    if (isErrno(cause, 'EEXIST')) return readFileSync(path, 'utf8')
    throw new UsageError(`cannot create ${what} ${path}: ${describeError(cause)}`, { cause })
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** The secret of the Engine API. Throws UsageError naming the file. */
export function loadJwtSecret(path: string, { create }: { create: boolean }): Uint8Array {
  return loadSecret(path, { create, what: 'JWT secret file' })
}

/**
 * Reads 32 bytes of hex from `path` (0x and white space around it allowed). With `create`, a missing file is written
 * with a new secret, readable by its owner only. Throws UsageError naming the file.
 */
export function loadSecret(path: string, { create, what }: { create: boolean; what: string }): Uint8Array {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    if (!isErrno(cause, 'ENOENT') || !create) {
      throw new UsageError(`cannot read ${what} ${path}: ${describeError(cause)}`, { cause })
    }
    text = createSecretFile(path, what)
  }
  try {
    return fromHex(text.trim(), 32)
  } catch {
    // The content is a secret: it is not repeated in the message.
    throw new UsageError(`${what} ${path} must hold 32 bytes of hex (64 digits)`)
  }
}
