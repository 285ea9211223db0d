import { DecodeError } from '../../lib/errors.ts'
import { type PeerAddress, parsePeerAddress, parsePeerId } from '../host/multiaddrs.ts'

/** A static peer with the operator's name for it. */
export interface NamedAddress extends PeerAddress {
  name: string | undefined
}

const MAX_NAME = 40

/** `name=/ip4/…/p2p/<id>`, or the address alone. Throws DecodeError or P2pError. */
export function parseNamedAddress(text: string): NamedAddress {
  const [name, address] = splitName(text)
  return { name, ...parsePeerAddress(address) }
}

/** `name=<peer id>`. Throws DecodeError. */
export function parsePeerName(text: string): { name: string; peerId: string } {
  const [name, id] = splitName(text)
  if (name === undefined) throw new DecodeError(`expected name=<peer id>, got "${text}"`)
  return { name, peerId: parsePeerId(id).toString() }
}

/** Keyed by peer id. If a peer has two names, the first is used. */
export function namesOf(
  named: readonly { name: string | undefined; peerId: { toString(): string } }[],
): Record<string, string> {
  const names: Record<string, string> = {}
  for (const { name, peerId } of named) if (name !== undefined) names[peerId.toString()] ??= name
  return names
}

function splitName(text: string): [name: string | undefined, rest: string] {
  const at = text.indexOf('=')
  if (at < 0 || text.startsWith('/')) return [undefined, text]
  const name = text.slice(0, at)
  // Names appear in tables and sentences in place of a peer id.
  if (!/^[\w.-]+$/.test(name) || name.length > MAX_NAME) {
    throw new DecodeError(
      `"${name}" is not a valid name: use up to ${MAX_NAME} letters, digits, dots, dashes and underscores`,
    )
  }
  return [name, text.slice(at + 1)]
}
