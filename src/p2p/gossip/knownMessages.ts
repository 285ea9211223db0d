import type { PayloadVersion } from '../base/topics.ts'
import { bodyOf, type ValidationContext } from '../inspection/inspection.ts'
import type { InspectionProcess } from '../inspection/inspectionProcess.ts'
import { hasManyTransactions, MANY_TRANSACTIONS, MAX_GOSSIP_BYTES } from '../inspection/largeMessages.ts'
import { type IdentifiedMessage, messageId, type UnpackedHere, unpackMessage } from '../inspection/messageId.ts'
import { allowedBytes, type InboundMessage, isLarge } from './inboundMessage.ts'

/** Limit of bytes that the cached messages keep in memory. */
const RECENT_BYTES = 2 * MAX_GOSSIP_BYTES
const RECENT_MESSAGES = 8

export interface MessageIdsModules {
  inspector: Pick<InspectionProcess, 'identify'>
  /** The inputs of validation for a message of this version that arrives now. */
  context(version: PayloadVersion): ValidationContext
}

/**
 * Computes message ids. An id needs decompression and a hash of the whole message, and each mesh peer sends a copy. So
 * copies of the last few messages are found by an exact comparison of bytes. Another process handles large messages.
 */
export type MessageIds = ReturnType<typeof createMessageIds>

export function createMessageIds({ inspector, context }: MessageIdsModules) {
  const recent = createRecentMessages()
  const isLaborious = (version: PayloadVersion, unpacked: UnpackedHere): boolean =>
    unpacked.ok && unpacked.data.length > MANY_TRANSACTIONS && hasManyTransactions(bodyOf(unpacked.data), version)
  return {
    /** Throws, or rejects with InspectionFailure, when the id cannot be computed. */
    identify(message: InboundMessage): IdentifiedMessage | Promise<IdentifiedMessage> {
      const known = recent.find(message)
      if (known !== undefined) return known
      const { from, topic, version, data, declaredBytes } = message
      const unpacked = isLarge(message) ? undefined : unpackMessage(data, declaredBytes)
      if (unpacked !== undefined && !isLaborious(version, unpacked)) {
        return recent.add(message, { id: messageId(topic, data, unpacked), unpacked })
      }
      return recent.add(message, inspector.identify({ topic, compressed: data, from, context: context(version) }))
    },
  }
}

type Identification = IdentifiedMessage | Promise<IdentifiedMessage>

interface RecentMessage {
  message: InboundMessage
  bytes: number
  identified: Identification
}

function createRecentMessages() {
  /** Newest first. */
  const entries: RecentMessage[] = []
  const shrink = (): void => {
    let total = 0
    const cut = entries.findIndex((entry, index) => {
      total += entry.bytes
      return index > 0 && (index >= RECENT_MESSAGES || total > RECENT_BYTES)
    })
    if (cut > 0) entries.length = cut
  }
  return {
    find: ({ topic, data }: InboundMessage): Identification | undefined =>
      entries.find(
        ({ message }) =>
          message.data.length === data.length && message.topic === topic && Buffer.compare(message.data, data) === 0,
      )?.identified,
    add<T extends Identification>(message: InboundMessage, identified: T): T {
      const entry: RecentMessage = { message, bytes: message.data.length + allowedBytes(message), identified }
      entries.unshift(entry)
      shrink()
      if (identified instanceof Promise) {
        identified.then(
          (result) => {
            entry.identified = result
          },
          () => {
            const index = entries.indexOf(entry)
            if (index >= 0) entries.splice(index, 1)
          },
        )
      }
      return identified
    },
  }
}
