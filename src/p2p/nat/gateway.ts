import { DeviumError } from '../../lib/errors.ts'

/** What is mapped: libp2p over TCP, discovery over UDP. */
export type MappedProtocol = 'tcp' | 'udp'

export interface MappingRequest {
  protocol: MappedProtocol
  /** Where this node listens. */
  internalPort: number
  /** Wished for; the router may give another. */
  externalPort: number
  lifetimeS: number
}

export interface Mapping {
  externalPort: number
  /** 0: until it is removed. */
  lifetimeS: number
}

/** A router that passes ports on to this machine. Every method rejects with GatewayError. */
export interface Gateway {
  /** For people: protocol and address. */
  readonly name: string
  externalIp(signal: AbortSignal): Promise<string>
  /** Makes a mapping, or prolongs it. */
  map(request: MappingRequest, signal: AbortSignal): Promise<Mapping>
  unmap(
    mapping: { protocol: MappedProtocol; internalPort: number; externalPort: number },
    signal: AbortSignal,
  ): Promise<void>
}

/** Finds the router of this network. Rejects when there is none that maps ports. */
export type FindGateway = (signal: AbortSignal) => Promise<Gateway>

export type GatewayErrorCode =
  /** Nothing answers, or not in time. */
  | 'no-answer'
  /** It answers that it will not. */
  | 'refused'
  /** It answers with something else. */
  | 'bad-answer'

export class GatewayError extends DeviumError<GatewayErrorCode> {
  override readonly name = 'GatewayError'
  constructor(
    code: GatewayErrorCode,
    message: string,
    options: { cause?: unknown; details?: Record<string, unknown> } = {},
  ) {
    super(code, message, { severity: 'temporary', ...options })
  }
}
