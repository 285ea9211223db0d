import { DeviumError, type DeviumErrorOptions } from '../../lib/errors.ts'

export type P2pErrorCode =
  /** The text is no multiaddress that ends in a peer id. */
  | 'bad-peer-address'
  | 'dial-failed'
  /** The node was to block itself. */
  | 'own-peer-id'
  | 'discovery-disabled'
  /** The connection that a request went over has ended. */
  | 'connection-lost'
  /** The peer does not speak the protocol of requests. */
  | 'not-served'
  /** A payload was to be published, but the node has no signing key. */
  | 'no-signer'
  | 'publish-failed'
  /** The remote signer did not answer, or with something else than the block's signature. */
  | 'signing-failed'
  /** The node is not started, or already stopped. */
  | 'not-running'
  /** A request for a block failed: stream, time-out, or error code of the peer. */
  | 'request-failed'

/** What the p2p node reports to its callers. Nothing that a remote peer does is thrown to them. */
export class P2pError extends DeviumError<P2pErrorCode> {
  override readonly name = 'P2pError'
  constructor(code: P2pErrorCode, message: string, options: DeviumErrorOptions = {}) {
    super(code, message, { severity: 'temporary', ...options })
  }
}
