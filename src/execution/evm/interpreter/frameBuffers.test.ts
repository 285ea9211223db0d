import { expect, it } from 'vitest'
import { FrameBuffers } from './frameBuffers.ts'

// Buffers are taken before each release, as a frame does: idle ones are shared by all EVMs of the process.

it('reused memory is zeroed, and never shared by two frames', () => {
  const buffers = FrameBuffers.take()
  const first = buffers.takeMemory(32)
  first.memory.fill(7, 0, 96)
  const other = buffers.takeMemory(32)
  expect(other.memory).not.toBe(first.memory)
  buffers.release({ ...first, memorySize: 96 })
  expect(FrameBuffers.take()).toBe(buffers)
  expect(FrameBuffers.take()).not.toBe(buffers)
  const again = buffers.takeMemory(first.memory.length)
  expect(again).toEqual({ memory: new Uint8Array(first.memory.length), view: first.view })
  expect(again.memory).toBe(first.memory)
  expect(buffers.takeMemory(32).memory).not.toBe(first.memory)
})

it('a small buffer stays available for a smaller frame, and a large buffer is not kept', () => {
  const buffers = FrameBuffers.take()
  const little = buffers.takeMemory(32)
  buffers.release({ ...little, memorySize: 0 })
  expect(FrameBuffers.take()).toBe(buffers)
  const much = buffers.takeMemory(100_000)
  expect(much.memory).toHaveLength(100_000)
  buffers.release({ ...much, memorySize: 100_000 })
  expect(FrameBuffers.take()).toBe(buffers)
  expect(buffers.takeMemory(32).memory).toBe(little.memory)
})
