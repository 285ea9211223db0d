import { DeviumError } from '../../lib/errors.ts'

/** libp2p uses TCP, discovery uses UDP. */
export type MappedProtocol = 'tcp' | 'udp'

export interface MappingRequest {
  protocol: MappedProtocol
  internalPort: number
  /** The preferred port. The router may choose another. */
  externalPort: number
  lifetimeS: number
}

export interface Mapping {
  externalPort: number
  /** Seconds. 0: until the mapping is removed. */
  lifetimeS: number
}

/** A router that maps ports to this machine. Every method rejects with NatRouterError. */
export interface NatRouter {
  /** Protocol and address, for logs. */
  readonly name: string
  externalIp(signal: AbortSignal): Promise<string>
  /** Creates a mapping, or renews it. */
  map(request: MappingRequest, signal: AbortSignal): Promise<Mapping>
  unmap(
    mapping: { protocol: MappedProtocol; internalPort: number; externalPort: number },
    signal: AbortSignal,
  ): Promise<void>
}

/** Finds the router of this network. Rejects when no router maps ports. */
export type FindNatRouter = (signal: AbortSignal) => Promise<NatRouter>

export type NatRouterErrorCode =
  /** No answer, or no answer in time. */
  'no-answer' | 'refused' | 'bad-answer'

export class NatRouterError extends DeviumError<NatRouterErrorCode> {
  override readonly name = 'NatRouterError'
  constructor(
    code: NatRouterErrorCode,
    message: string,
    options: { cause?: unknown; details?: Record<string, unknown> } = {},
  ) {
    super(code, message, { severity: 'temporary', ...options })
  }
}
