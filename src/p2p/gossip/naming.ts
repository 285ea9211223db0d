import type { IdDialect } from '../inspection/messageId.ts'
import type { IdDialects } from './idDialects.ts'

/** How a peer names messages. */
export interface Naming {
  dialect: IdDialect
  /** Undefined where its name of the message is not known. */
  nameOf(id: Uint8Array): Uint8Array | undefined
}

/** From what the peer has said, else from what it is; undefined when nothing is known of that. */
export async function namingOf(
  dialects: IdDialects,
  peerId: string,
  protocols: () => Promise<readonly string[]>,
): Promise<Naming | undefined> {
  const served = dialects.shownBy(peerId) === undefined ? await protocols() : []
  // It may have said something meanwhile.
  const dialect = dialects.shownBy(peerId) ?? dialectByProtocols(served)
  if (dialect === undefined) return undefined
  if (dialect === 'with-topic') return { dialect, nameOf: (id) => id }
  dialects.setDialect(peerId, dialect)
  return {
    dialect,
    nameOf(id) {
      const name = dialects.nameFor(peerId, id)
      return name === id ? undefined : name
    },
  }
}

const REQUEST_PROTOCOL = '/opstack/req/payload_by_number/'

/**
 * As far as its protocols tell: the id of op-node's request protocol has no slash at its end, that of the Rust nodes has
 * one. Who serves both is one of ours, and goes with op-node.
 */
export function dialectByProtocols(protocols: readonly string[]): IdDialect | undefined {
  const served = protocols.filter((protocol) => protocol.startsWith(REQUEST_PROTOCOL))
  if (served.length === 0) return undefined
  return served.every((protocol) => protocol.endsWith('/')) ? 'without-topic' : 'with-topic'
}
