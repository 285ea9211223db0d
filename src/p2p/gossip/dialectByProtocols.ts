import type { IdDialect } from './messageId.ts'

const REQUEST_PROTOCOL = '/opstack/req/payload_by_number/'

/**
 * How a peer that nothing has been heard of names messages, as far as its protocols tell: the id of op-node's request
 * protocol has no slash at its end, that of the Rust nodes has one. Who serves both is one of ours, and goes with op-node.
 */
export function dialectByProtocols(protocols: readonly string[]): IdDialect | undefined {
  const served = protocols.filter((protocol) => protocol.startsWith(REQUEST_PROTOCOL))
  if (served.length === 0) return undefined
  return served.every((protocol) => protocol.endsWith('/')) ? 'without-topic' : 'with-topic'
}
