import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Clock, unixSeconds } from './clock.ts'
import { describeError, isErrno, UsageError } from './errors.ts'
import { fromHex, toHex } from './hex.ts'
import { writeNew } from './wholeFile.ts'

const HEADER = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url')
/** Engine API authentication spec: the `iat` claim may differ from the current time by at most 60 seconds. */
const JWT_MAX_SKEW_SECONDS = 60

/** HS256 token with the `iat` claim, the only claim that the Engine API requires. */
export function createJwt(secret: Uint8Array, issuedAtSeconds: number): string {
  const body = `${HEADER}.${Buffer.from(JSON.stringify({ iat: issuedAtSeconds })).toString('base64url')}`
  return `${body}.${createHmac('sha256', secret).update(body).digest('base64url')}`
}

/**
 * Returns a check of tokens. The check returns undefined for a valid token, otherwise the problem.
 * A client sends the same token many times. The check caches the last valid token, because verifying a signature takes
 * longer than the rest of an HTTP call.
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

/** Like `createJwtCheck`, for Authorization headers at the clock's time. */
export function createBearerCheck(
  secret: Uint8Array,
  clock: Clock,
): (authorization: string | undefined) => string | undefined {
  const check = createJwtCheck(secret)
  return (authorization = '') =>
    authorization.startsWith('Bearer ') ? check(authorization.slice(7), unixSeconds(clock)) : 'missing token'
}

/** Verifies the signature and returns the issue time in seconds. */
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
 * Reads the text of a secret file. With `create`, a missing file is created with a new secret, readable only by its
 * owner. Throws UsageError that names the file.
 */
export function readSecretFile(path: string, { create, what }: { create: boolean; what: string }): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (cause) {
    if (create && isErrno(cause, 'ENOENT')) return createSecretFile(path, what)
    throw new UsageError(`cannot read ${what} ${path}: ${describeError(cause)}`, { cause })
  }
}

/**
 * Creates a file with 32 random bytes as hex and returns the hex. It is created once, even if the engine and the rollup
 * node start at the same time.
 */
function createSecretFile(path: string, what: string): string {
  const text = toHex(new Uint8Array(randomBytes(32)))
  try {
    writeNew(path, text)
    return text
  } catch (cause) {
    if (isErrno(cause, 'EEXIST')) return readFileSync(path, 'utf8')
    throw new UsageError(`cannot create ${what} ${path}: ${describeError(cause)}`, { cause })
  }
}

/** Reads the Engine API secret. Throws UsageError that names the file. */
export function loadJwtSecret(path: string, { create }: { create: boolean }): Uint8Array {
  return loadSecret(path, { create, what: 'JWT secret file' })
}

/** Like `readSecretFile`, for 32 bytes of hex. A 0x prefix and white space around the hex are allowed. */
export function loadSecret(path: string, { create, what }: { create: boolean; what: string }): Uint8Array {
  const text = readSecretFile(path, { create, what })
  try {
    return fromHex(text, 32)
  } catch {
    // The content is a secret, so the message does not repeat it.
    throw new UsageError(`${what} ${path} must hold 32 bytes of hex (64 digits)`)
  }
}
