import { createHash, timingSafeEqual } from 'node:crypto'
import { statSync } from 'node:fs'
import { UsageError } from '../lib/errors.ts'
import { readSecretFile } from '../lib/jwt.ts'

/** The rights of a client without a token. */
export interface TokenAccess {
  /** Absent: no token exists, and no client may call a changing method. */
  token: string | undefined
  guardsReading: boolean
}

/** Checks an Authorization header for the token (RFC 6750, section 2.1), in constant time. */
export function createTokenCheck({ token }: TokenAccess): (authorization: string | undefined) => boolean {
  if (token === undefined) return () => false
  const expected = digest(token)
  return (authorization = '') => {
    const [, given] = /^Bearer +(\S+) *$/i.exec(authorization) ?? []
    return given !== undefined && timingSafeEqual(digest(given), expected)
  }
}

function digest(token: string): Uint8Array {
  return createHash('sha256').update(token).digest()
}

/** A shorter token can be guessed. */
const MIN_TOKEN_LENGTH = 16

/**
 * Reads a token from a file that only its owner may read. With `create`, a missing file is created with a new token.
 * Throws UsageError that names the file.
 */
export function loadToken(path: string, { create }: { create: boolean }): string {
  const text = readSecretFile(path, { create, what: 'token file' })
  const mode = statSync(path).mode & 0o777
  if ((mode & 0o077) !== 0) {
    throw new UsageError(`other users may access token file ${path} (mode ${mode.toString(8)}): chmod 600 ${path}`)
  }
  // The content is a secret, so the message does not repeat it.
  if (text.length < MIN_TOKEN_LENGTH || !/^[\x21-\x7e]+$/.test(text)) {
    throw new UsageError(`token file ${path} must hold at least ${MIN_TOKEN_LENGTH} characters without spaces`)
  }
  return text
}
