import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { OpenChannel } from './openChannel.ts'
import { channelId, frame } from './testUtils/stages.ts'

const open = () => new OpenChannel(channelId('A'), 1, { inOrder: false })
/** Overhead and data of a frame with a name of two characters, or three for a closing frame. */
const [FRAME, LAST] = [202, 203]

describe('an open channel', () => {
  it('counts the size of its frames with overhead', () => {
    const channel = open()
    channel.add(frame('A0'))
    channel.add(frame('A2'))
    expect(channel.size).toBe(2 * FRAME)
  })

  it('counts only the closing frame after it has dropped later frames, like the reference node', () => {
    const channel = open()
    for (const name of ['A0', 'A3', 'A1!']) channel.add(frame(name))
    expect(channel.size).toBe(LAST)
    expect(channel.isReady).toBe(true)
    expect(Buffer.from(channel.data()).toString()).toBe('A0A1!')
  })

  it('counts all frames if the closing frame drops none', () => {
    const channel = open()
    for (const name of ['A0', 'A1!']) channel.add(frame(name))
    expect(channel.size).toBe(FRAME + LAST)
  })

  it('is complete with all frames in any order', () => {
    const order = fc.shuffledSubarray(['A0', 'A1', 'A2', 'A3!'], { minLength: 4 })
    fc.assert(
      fc.property(order, (names) => {
        const channel = open()
        for (const name of names) expect(channel.add(frame(name))).toBeUndefined()
        expect(channel.isReady).toBe(true)
        expect(Buffer.from(channel.data()).toString()).toBe('A0A1A2A3!')
      }),
    )
  })
})
