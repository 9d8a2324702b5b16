package drops

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"campaignd/internal/secret"
)

const (
	// s3Every is how often a bucket is listed: 43,200 requests a day.
	s3Every = 2 * time.Second
	// s3Request is the time of one request without a body to stream, and of one page of a listing.
	s3Request = time.Minute
	// s3Stall is how long a stream may stand still.
	s3Stall = 30 * time.Second
	// mostCopy is the largest object that one request copies; larger ones are copied in parts
	// (https://docs.aws.amazon.com/AmazonS3/latest/API/API_CopyObject.html).
	mostCopy = 5 << 30
)

// S3 is a bucket of AWS or of anything else that speaks S3. An object appears when it is complete,
// so it is taken at once.
type S3 struct {
	client  minio.Core
	bucket  string
	request time.Duration // s3Request

	mu sync.Mutex
	// copies has the pairs whose content was compared and is the same, until the first is removed. A
	// right to remove may be missing for days.
	copies map[[2]Object]bool
}

var _ Bucket = (*S3)(nil)

// OpenS3 returns the bucket of an URL, and makes no request: s3://BUCKET?endpoint=URL&region=NAME,
// or gs://BUCKET for the S3 endpoint of Google Cloud Storage. The credentials are those of the
// environment (AWS_ACCESS_KEY_ID), else of the shared file (AWS_PROFILE), else of the role: web
// identity, container or machine.
func OpenS3(u *url.URL) (*S3, error) {
	q := u.Query()
	for key := range q {
		if key != "endpoint" && key != "region" {
			return nil, fmt.Errorf("unknown parameter %q; give endpoint=https://HOST and region=NAME", key)
		}
	}
	if u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("give s3://BUCKET; folders belong to prefix, and keys to the environment")
	}
	endpoint, err := url.Parse(q.Get("endpoint"))
	if err != nil {
		return nil, err
	}
	switch {
	case u.Scheme == "gs":
		endpoint = &url.URL{Scheme: "https", Host: "storage.googleapis.com"}
	case q.Get("endpoint") == "":
		endpoint = &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}
	case endpoint.Host == "" || endpoint.Scheme != "https" && endpoint.Scheme != "http" || strings.Trim(endpoint.Path, "/") != "":
		return nil, fmt.Errorf("endpoint %q is no address; give https://HOST", q.Get("endpoint"))
	case endpoint.Scheme == "http" && !secret.Loopback(endpoint.Hostname()):
		return nil, fmt.Errorf("endpoint %q sends lists with phone numbers unencrypted; give https://%s", q.Get("endpoint"), endpoint.Host)
	}
	region := q.Get("region")
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
		if region == "" {
			region = os.Getenv(name)
		}
	}
	if region == "" && endpoint.Host != "s3.amazonaws.com" {
		region = "us-east-1" // most servers take any region
	}
	client, err := minio.NewCore(endpoint.Host, &minio.Options{
		Secure: endpoint.Scheme == "https", Region: region, MaxRetries: 3,
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{}}),
	})
	if err != nil {
		return nil, err
	}
	return &S3{client: *client, bucket: u.Host, request: s3Request}, nil
}

// Every implements Bucket.
func (b *S3) Every() time.Duration { return s3Every }

// Quiet implements Bucket.
func (b *S3) Quiet(Object) (time.Duration, bool) { return 0, false }

// etagOf is the identity of a version: the server's ETag and the time of its writing. The same
// content that is written again is another version. The time is always that of a listing: other
// answers of the server may have another one.
func etagOf(o minio.ObjectInfo) string {
	return fmt.Sprintf("%s %d", o.ETag, o.LastModified.UnixMilli())
}

// contentTag is the server's ETag, for If-Match.
func (o Object) contentTag() string {
	tag, _, _ := strings.Cut(o.ETag, " ")
	return tag
}

// errStalled says that a page of a listing did not come in time.
var errStalled = errors.New("the server began to list the bucket and did not go on")

// List implements Bucket.
func (b *S3) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		stalled := time.AfterFunc(b.request, func() { cancel(errStalled) })
		defer stalled.Stop()
		for o := range b.client.ListObjectsIter(ctx, b.bucket, minio.ListObjectsOptions{Prefix: prefix}) {
			stalled.Reset(b.request)
			if o.Err != nil {
				yield(Object{}, cmp.Or(context.Cause(ctx), o.Err))
				return
			}
			if strings.HasSuffix(o.Key, "/") {
				o = minio.ObjectInfo{Key: o.Key} // a folder
			}
			if !yield(Object{Key: o.Key, ETag: etagOf(o), Size: o.Size}, nil) {
				return
			}
		}
	}
}

// Stat implements Bucket.
func (b *S3) Stat(ctx context.Context, key string) (Object, error) {
	ctx, cancel := context.WithTimeout(ctx, b.request)
	defer cancel()
	for o := range b.client.ListObjectsIter(ctx, b.bucket, minio.ListObjectsOptions{Prefix: key, MaxKeys: 1}) {
		if o.Err != nil {
			return Object{}, bucketError(o.Err)
		}
		if o.Key == key {
			return Object{Key: key, ETag: etagOf(o), Size: o.Size}, nil
		}
		break // keys are listed in order, and the first is that of the prefix alone
	}
	return Object{}, fs.ErrNotExist
}

// bucketError turns an error of the server into one that Bucket documents.
func bucketError(err error) error {
	switch told := minio.ToErrorResponse(err); {
	case err == nil:
		return nil
	case told.Code == minio.NoSuchKey:
		return fs.ErrNotExist
	case told.Code == minio.PreconditionFailed || told.StatusCode == http.StatusPreconditionFailed:
		return ErrChanged
	}
	return err
}

// Open implements Bucket.
func (b *S3) Open(ctx context.Context, o Object, offset int64) (io.ReadCloser, error) {
	var opts minio.GetObjectOptions
	if err := opts.SetMatchETag(o.contentTag()); err != nil {
		return nil, err
	}
	if offset > 0 {
		if err := opts.SetRange(offset, 0); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	body, info, _, err := b.client.GetObject(ctx, b.bucket, o.Key, opts)
	if err != nil {
		cancel()
		return nil, bucketError(err)
	}
	if info.ETag != o.contentTag() { // a server that ignores If-Match
		cancel()
		return nil, errors.Join(ErrChanged, body.Close())
	}
	return &stream{body, cancel}, nil
}

// stream is a body that may take any time in all, and s3Stall for each Read.
type stream struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (s *stream) Read(p []byte) (int, error) {
	t := time.AfterFunc(s3Stall, s.cancel)
	defer t.Stop()
	return s.ReadCloser.Read(p)
}

func (s *stream) Close() error {
	s.cancel()
	return s.ReadCloser.Close()
}

// Create implements Bucket.
func (b *S3) Create(ctx context.Context, key string, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, b.request)
	defer cancel()
	opts := minio.PutObjectOptions{ContentType: "application/json"}
	opts.SetMatchETagExcept("*")
	_, err := b.client.Client.PutObject(ctx, b.bucket, key, bytes.NewReader(text), int64(len(text)), opts)
	if err = bucketError(err); errors.Is(err, ErrChanged) {
		return fs.ErrExist
	}
	return err
}

// errUnread says that the server did not read an upload to its end, or did not answer it.
var errUnread = errors.New("the server did not take the upload any further")

// progress restarts its timer when a part of an upload was read.
type progress struct {
	*time.Timer
	each time.Duration
}

func (p progress) Read(b []byte) (int, error) {
	p.Reset(p.each)
	return len(b), nil
}

// kindOf is the media type of a list or a result by its name. A browser shows what it downloads by
// this type.
func kindOf(key string) string {
	switch path.Ext(strings.ToLower(key)) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".json":
		return "application/json"
	case ".csv":
		return "text/csv"
	case ".tsv":
		return "text/tab-separated-values"
	}
	return "application/octet-stream" // a list that is compressed, or has another name
}

// Put implements Bucket. An upload may take any time in all, and b.request for each part.
func (b *S3) Put(ctx context.Context, key string, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(b.request, func() { cancel(errUnread) })
	defer stalled.Stop()
	_, err = b.client.Client.PutObject(ctx, b.bucket, key, f, info.Size(),
		minio.PutObjectOptions{ContentType: kindOf(key), NumThreads: 1, Progress: progress{stalled, b.request}})
	if err != nil && errors.Is(context.Cause(ctx), errUnread) {
		return errUnread
	}
	return bucketError(err)
}

// Move implements Bucket. It copies on the server, and removes the old name. An object that
// replaced the old one between its last look and the removal would be lost with it; a versioned
// bucket keeps it.
func (b *S3) Move(ctx context.Context, o Object, to string) error {
	if err := b.same(ctx, o); err != nil {
		return err
	}
	there, err := b.Stat(ctx, to)
	switch {
	case err == nil:
		if err := b.copied(ctx, o, there); err != nil {
			return err
		}
	case errors.Is(err, fs.ErrNotExist):
		from := minio.CopySrcOptions{Bucket: b.bucket, Object: o.Key, MatchETag: o.contentTag()}
		dst := minio.CopyDestOptions{Bucket: b.bucket, Object: to}
		if o.Size < mostCopy {
			_, err = b.client.Client.CopyObject(ctx, dst, from)
		} else {
			_, err = b.client.ComposeObject(ctx, dst, from)
		}
		if err != nil {
			return bucketError(err)
		}
	default:
		return err
	}
	if err := b.same(ctx, o); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, b.request)
	defer cancel()
	err = bucketError(b.client.RemoveObject(ctx, b.bucket, o.Key, minio.RemoveObjectOptions{}))
	if err == nil {
		b.mu.Lock()
		delete(b.copies, [2]Object{o, there})
		b.mu.Unlock()
	}
	return err
}

// same returns ErrChanged unless the bucket has the version.
func (b *S3) same(ctx context.Context, o Object) error {
	now, err := b.Stat(ctx, o.Key)
	if err == nil && now != o {
		err = ErrChanged
	}
	return err
}
