import { DeviumError, type DeviumErrorOptions } from '../../lib/errors.ts'

export type P2pErrorCode =
  /** The text is not a multiaddress that ends in a peer id. */
  | 'bad-peer-address'
  | 'dial-failed'
  /** The operator tried to block this node itself. */
  | 'own-peer-id'
  | 'discovery-disabled'
  /** The connection that carried a request has closed. */
  | 'connection-lost'
  /** The peer does not support the block request protocol. */
  | 'not-served'
  /** A payload cannot be published, because the node has no signing key. */
  | 'no-signer'
  | 'publish-failed'
  /** The remote signer did not answer, or its answer is not a signature of this block. */
  | 'signing-failed'
  | 'not-running'
  /** A block request failed: stream error, time-out, or error code of the peer. */
  | 'request-failed'

/** An error of the p2p node for its callers. The behaviour of a remote peer never throws to them. */
export class P2pError extends DeviumError<P2pErrorCode> {
  override readonly name = 'P2pError'
  constructor(code: P2pErrorCode, message: string, options: DeviumErrorOptions = {}) {
    super(code, message, { severity: 'temporary', ...options })
  }
}
