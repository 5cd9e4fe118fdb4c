/**
 * A list in protobuf from cached messages: they are joined, not encoded. The length of the whole stands before the first item, so
 * all items must have their form before anything is sent; those that have none yet get it in portions.
 */
import type { ServedResource } from '../served-resource.ts';
import { type ListPage, listMetadata } from './list-encoding.ts';
import { itemHead, itemHeadLength, listParts } from './protobuf.ts';

const pieceSize = 64 * 1024;

export class ListMessages {
  readonly #resource: ServedResource;
  readonly #page: ListPage;
  /** Items that have their form, and the bytes they take in the list. */
  #encoded = 0;
  #size = 0;

  constructor(resource: ServedResource, page: ListPage) {
    this.#resource = resource;
    this.#page = page;
  }

  /** Sees to about as many bytes as one piece has; says whether that was the last of it. */
  encodeSome(): boolean {
    const { entries } = this.#page;
    const enough = this.#size + pieceSize;
    for (; this.#encoded < entries.length; this.#encoded++) {
      if (this.#size >= enough) return false;
      const { length } = entries[this.#encoded]!.messageIn(this.#resource);
      this.#size += itemHeadLength(length) + length;
    }
    return true;
  }

  /** The pieces of the list, in parts; each but the last has about `pieceSize` bytes. Only when everything is encoded. */
  *pieces(): Generator<Buffer[], void> {
    const resource = this.#resource;
    const typeMeta = { apiVersion: resource.apiVersion, kind: resource.listKind };
    const { head, end } = listParts(typeMeta, listMetadata(this.#page), this.#size);
    let parts: Buffer[] = [head];
    let size = head.length;
    for (const entry of this.#page.entries) {
      const message = entry.messageIn(resource);
      parts.push(itemHead(message.length), message);
      size += message.length;
      if (size < pieceSize) continue;
      yield parts;
      parts = [];
      size = 0;
    }
    parts.push(end);
    yield parts;
  }
}
