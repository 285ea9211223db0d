import { request } from 'node:http'

export type Headers = Record<string, string | string[] | undefined>
export interface Answer {
  status: number | undefined
  headers: Headers
  text: string
}

/** `fetch` would not let a test set the host and origin headers. */
export function httpRequest(url: string, method: string, headers: Headers, body = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }).on('error', reject)
    sent.on('response', async (response) => {
      const text = (await response.setEncoding('utf8').toArray()).join('')
      resolve({ status: response.statusCode, headers: response.headers, text })
    })
    sent.end(body)
  })
}

export function postJson(url: string, headers: Headers, body: object): Promise<Answer> {
  return httpRequest(url, 'POST', { 'content-type': 'application/json', ...headers }, JSON.stringify(body))
}
