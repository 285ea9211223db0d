import { DeviumError } from '../../lib/errors.ts'

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
